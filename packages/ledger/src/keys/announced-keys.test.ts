import { expect, it } from "vitest";
import type { PlacedEntry } from "../ledger-reader.ts";
import { announcedKeys } from "./announced-keys.ts";

const entry = (payload: unknown, timestamp: string) =>
  ({ seq: Number(timestamp.slice(1)), entry: { payload, timestamp } }) as PlacedEntry;
const added = (key_id: string, holder: string) => ({
  change: "key_added",
  key_id,
  holder,
  public_key: `${key_id}=`,
});

const signing = (added: number) => ({ added_at: `t${added}`, added, retired_at: null, retired: null });

it("lists every key with its holder and when it was retired", async () => {
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
    { key_id: "k1", holder: "reins:system", public_key: "k1=", ...signing(1) },
    { key_id: "k2", holder: "reed", public_key: "k2=", ...signing(2), retired_at: "t4", retired: 4 },
    { key_id: "k3", holder: "reed", public_key: "k3=", ...signing(3) },
  ]);
});
