"""The streaming-session protocol over HTTP and WebSocket, in front of any `SessionHost`."""
