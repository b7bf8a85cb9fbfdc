import type { PlacedEntry } from "@reins/ledger";
import { expect, it } from "vitest";
import { announcedKeys } from "./announced-keys.ts";

const entry = (payload: unknown, timestamp: string) =>
  ({ seq: 0, entry: { payload, timestamp } }) as PlacedEntry;
const added = (key_id: string, holder: string) => ({
  change: "key_added",
  key_id,
  holder,
  public_key: `${key_id}=`,
});

it("tells of every key whose it is and when it stopped", async () => {
  const read = async () => [
    entry(added("k1", "reins:system"), "t1"),
    entry(added("k2", "reed"), "t2"),
    entry(added("k3", "reed"), "t3"),
    entry({ change: "key_retired", key_id: "k2" }, "t4"),
    entry({ change: "key_retired", key_id: "unknown" }, "t5"),
    entry(added("k1", "mallory"), "t6"),
    entry("something else", "t7"),
  ];
  expect(await announcedKeys({ read })).toEqual([
    { key_id: "k1", holder: "reins:system", public_key: "k1=", added_at: "t1", retired_at: null },
    { key_id: "k2", holder: "reed", public_key: "k2=", added_at: "t2", retired_at: "t4" },
    { key_id: "k3", holder: "reed", public_key: "k3=", added_at: "t3", retired_at: null },
  ]);
});
