"""Files of codes: what each line of them means, what becomes of it, and how codes are written into one."""
