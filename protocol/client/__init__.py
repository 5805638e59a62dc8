"""The client of the streaming protocol: sessions on a server elsewhere."""
