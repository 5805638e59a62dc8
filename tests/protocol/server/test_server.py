from __future__ import annotations

import socket

import pytest

from protocol.server.server import listen


def close(sockets):
    for each in sockets:
        each.close()


def test_a_free_port_is_taken_and_clients_may_come_at_once():
    [listening] = sockets = listen("127.0.0.1", 0)
    try:
        socket.create_connection(listening.getsockname(), timeout=5).close()
    finally:
        close(sockets)


def test_a_name_with_several_addresses_has_one_port():
    sockets = listen("localhost", 0)
    try:
        assert len({each.getsockname()[1] for each in sockets}) == 1
    finally:
        close(sockets)


def test_a_port_in_use_is_an_error():
    sockets = listen("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", sockets[0].getsockname()[1])
    finally:
        close(sockets)


@pytest.mark.parametrize("host", ["203.0.113.1", "no.such.host.invalid"])
def test_an_address_that_is_not_this_machines_is_an_error(host):
    with pytest.raises(OSError):  # noqa: PT011 - the words are the system's
        listen(host, 0)
