"""The hundred students on the last place, run for real; and the control that shows what the lock is for."""
