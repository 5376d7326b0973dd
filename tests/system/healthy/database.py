# Many rows in one transaction.
import sqlite3

database = sqlite3.connect("rows.db")
database.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")
with database:
    database.executemany("INSERT INTO row VALUES (?, ?)", ((i, f"row {i}") for i in range(200000)))
print(database.execute("SELECT count(*) FROM row").fetchone()[0])
