"""
The negative control: count, then insert, without a lock. It must oversell, or the storm proves nothing.

It lives here alone; nothing of the product counts this way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from psycopg_pool import AsyncConnectionPool


async def admitted_without_lock(
    database_url: str, schema: str, buyers: int, places: int, done: Callable[[], None]
) -> int:
    """How many of *buyers* are let in to *places* by counting first and inserting afterwards."""
    table = f"{schema}.without_lock"
    async with AsyncConnectionPool(
        database_url, min_size=16, max_size=16, kwargs={"autocommit": True}, open=False
    ) as pool:
        async with pool.connection() as connection:
            await connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (buyer integer)".encode())
            await connection.execute(f"TRUNCATE {table}".encode())

        async def buy(buyer: int) -> None:
            async with pool.connection() as own:
                row = await (await own.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
                if row and row[0] < places:
                    await own.execute(f"INSERT INTO {table} VALUES (%s)".encode(), (buyer,))
            done()

        await asyncio.gather(*(buy(buyer) for buyer in range(buyers)))
        async with pool.connection() as connection:
            row = await (await connection.execute(f"SELECT count(*) FROM {table}".encode())).fetchone()
            return int(row[0]) if row else 0
