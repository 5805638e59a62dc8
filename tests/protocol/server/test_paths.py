import pytest

from protocol.server.paths import PlainPaths


@pytest.mark.parametrize(
    ("given", "plain"),
    [("/v1/x", "/v1/x"), ("//v1///x", "/v1/x"), ("/v1/x/", "/v1/x"), ("/", "/"), ("///", "/"), ("", "/")],
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_slashes(kind, given, plain):
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["path"])

    scope = {"type": kind, "path": given}
    await PlainPaths(app)(scope, None, None)
    assert seen == [plain]
    assert scope["path"] == given
