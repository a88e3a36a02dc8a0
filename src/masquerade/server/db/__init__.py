"""The database: connections, transactions, tables, migrations, keys and the order of rows."""
