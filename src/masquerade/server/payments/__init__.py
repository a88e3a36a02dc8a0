"""Money: the double-entry ledger, funds, wallets, rewards and completion codes."""
