#!/usr/bin/env python3
"""Writes clocks.tsv: what the clocks of zones show at random times, by Python's zoneinfo. Each line has the time in UTC, the zone, the date, the day of the
week (ISO 8601) and the seconds since 0 o'clock. Times lie before 2025, whose rules do not change any more; half of them are near a change of the clocks.

    python3 tests/data/zones/make.py > tests/data/zones/clocks.tsv
"""

import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ZONES = """Europe/Berlin Europe/London Europe/Dublin America/New_York America/Sao_Paulo America/St_Johns Asia/Kolkata Asia/Kathmandu Asia/Tokyo
Asia/Tehran Australia/Lord_Howe Australia/Adelaide Pacific/Apia Pacific/Kiritimati Pacific/Chatham Africa/Casablanca Antarctica/Troll UTC""".split()
FIRST, LAST = datetime(1971, 1, 1, tzinfo=timezone.utc), datetime(2025, 1, 1, tzinfo=timezone.utc)


def changes(zone: ZoneInfo) -> list[datetime]:
    """Days on which the offset of the zone changes."""
    days = [FIRST + timedelta(days=n) for n in range((LAST - FIRST).days)]
    offsets = [day.astimezone(zone).utcoffset() for day in days]
    return [day for day, before, after in zip(days, offsets, offsets[1:]) if before != after]


def main() -> None:
    chance = random.Random(20261128)
    for name in ZONES:
        zone = ZoneInfo(name)
        near = changes(zone)
        for count in range(24):
            if near and count % 2:
                time = chance.choice(near) + timedelta(minutes=15 * chance.randrange(97))
            else:
                time = FIRST + timedelta(seconds=chance.randrange(int((LAST - FIRST).total_seconds())))
            there = time.astimezone(zone)
            seconds = there.hour * 3600 + there.minute * 60 + there.second
            print(time.strftime("%Y-%m-%dT%H:%M:%SZ"), name, there.date(), there.isoweekday(), seconds, sep="\t")


main()
