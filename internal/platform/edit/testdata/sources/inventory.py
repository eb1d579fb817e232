"""Keeps track of what is in stock."""

import json
import logging
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)


@dataclass
class Item:
    name: str
    count: int = 0
    price: float = 0.0
    tags: list[str] = field(default_factory=list)

    def total(self) -> float:
        return self.count * self.price

    def matches(self, word: str) -> bool:
        if word in self.name:
            return True
        for tag in self.tags:
            if tag.startswith(word):
                return True
        return False


class Inventory:
    def __init__(self, path: Path):
        self.path = path
        self.items: dict[str, Item] = {}

    def load(self) -> None:
        if not self.path.exists():
            log.info("no inventory at %s", self.path)
            return
        with self.path.open() as f:
            for row in json.load(f):
                item = Item(**row)
                if item.count < 0:
                    log.warning("negative count of %s", item.name)
                    item.count = 0
                self.items[item.name] = item

    def save(self) -> None:
        rows = [vars(item) for item in self.items.values()]
        with self.path.open("w") as f:
            json.dump(rows, f, indent=2)

    def add(self, name: str, count: int) -> Item:
        item = self.items.get(name)
        if item is None:
            item = Item(name)
            self.items[name] = item
        item.count += count
        return item

    def remove(self, name: str, count: int) -> None:
        item = self.items[name]
        if item.count < count:
            raise ValueError(
                f"only {item.count} of {name}, "
                f"{count} were asked for"
            )
        item.count -= count

    def report(self, word: str = "") -> str:
        lines = []
        for item in sorted(self.items.values(), key=lambda i: i.name):
            if word and not item.matches(word):
                continue
            lines.append(f"{item.name:20} {item.count:5} {item.total():8.2f}")
        try:
            lines.append(f"total {sum(i.total() for i in self.items.values()):.2f}")
        except TypeError:
            log.exception("a price that is no number")
            raise
        finally:
            log.debug("reported %d lines", len(lines))
        return "\n".join(lines)


def main() -> None:
    inventory = Inventory(Path("stock.json"))
    inventory.load()
    print(inventory.report())


if __name__ == "__main__":
    main()
