"""How inputs are read: as files, or live."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cli.video.live_input import LiveOptions, live_input
from cli.video.live_policy import DEFAULT_POLICY, LivePolicy
from cli.video.reader import GoesOn
from cli.video.timeouts import DEFAULT_TIMEOUTS, Timeouts
from protocol.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.video.inputs import Input
    from cli.video.live_input import LiveInput
    from cli.video.sampling import SamplingPlan
    from protocol.source import Source


_USUAL_OPTIONS = LiveOptions()


@dataclass(frozen=True, slots=True)
class Reading:
    """What the command line says of all inputs alike.

    Attributes:
        realtime: files are played at their own pace, as if they were live.
    """

    timeouts: Timeouts = DEFAULT_TIMEOUTS
    options: LiveOptions = _USUAL_OPTIONS
    policy: LivePolicy = DEFAULT_POLICY
    realtime: bool = False

    def live(self, given: Input) -> LiveInput | None:
        """What `given` is if it is live, as far as can be told before it is opened.

        Raises:
            UsageError: the options do not fit it.
        """
        return live_input(given, self.options, realtime=self.realtime)

    async def open(self, given: Input, plan: SamplingPlan) -> Source:
        """Opens an input.

        Raises:
            InputError: it cannot be opened, not in time, or no picture of it can be decoded.
        """
        live = self.live(given)
        if live is None or (live.perhaps and not self.realtime):
            from cli.video.file_source import open_source

            try:
                return await open_source(given, plan, self.timeouts)
            except GoesOn as found:
                live = live_input(given, replace(self.options, input_format=found.format))
                if live is None:
                    raise
        from cli.video.live_source import open_live

        return await open_live(live, plan, self.policy, open_s=self.timeouts.open_s)


DEFAULT_READING = Reading()


def option_values(given: Sequence[str]) -> dict[str, str]:
    """What ``--input-option NAME=VALUE`` gives.

    Raises:
        UsageError: there is no ``=`` in one.
    """
    values = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--input-option {each}: write NAME=VALUE")
        values[name.strip()] = value
    return values
