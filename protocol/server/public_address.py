"""Which addresses are somebody else's: those of the public internet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address

# Addresses of IPv6 that stand for one of IPv4, in their last 32 bits: NAT64 (RFC 6052), IPv4-compatible ones.
_CARRIES_IPV4: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


def is_public(address: Address | str) -> bool:
    """Whether an address is one of the public internet.

    Not so: this machine, private and link-local networks, where a cloud's metadata service is, carriers'
    shared networks, multicast, what is reserved or for documentation, and tunnels to any of those.
    """
    if isinstance(address, str):
        address = ip_address(address)
    special = (
        address.is_private
        or address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
    )
    if isinstance(address, IPv4Address):
        return address.is_global and not special and not address.is_reserved
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if any(address in network for network in _CARRIES_IPV4):
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address.sixtofour is not None or address.teredo is not None:  # tunnels, to wherever their sender says
        return False
    return address.is_global and not special and not address.is_site_local and not address.is_reserved
