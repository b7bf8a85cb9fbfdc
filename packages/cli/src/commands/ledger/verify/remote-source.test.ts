import { expect, it } from "vitest";
import { remoteSource } from "./remote-source.ts";

it.each([
  ["http://127.0.0.1:18789", "http://127.0.0.1:18789/v1/ledger/export"],
  ["https://reins.example.com/", "https://reins.example.com/v1/ledger/export"],
  ["http://[::1]:18789/ahp", "http://[::1]:18789/v1/ledger/export"],
  ["https://files.example.com/audit.jsonl.gz", "https://files.example.com/audit.jsonl.gz"],
  ["http://127.0.0.1:18789/v1/ledger/export?x=1", "http://127.0.0.1:18789/v1/ledger/export?x=1"],
  ["audit.jsonl", "audit.jsonl"],
  ["http:", "http:"],
])("%s is fetched from %s", (source, fetched) => {
  expect(remoteSource(source)).toBe(fetched);
});
