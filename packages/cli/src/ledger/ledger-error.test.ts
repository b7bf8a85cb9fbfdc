import { LedgerError } from "@reins/ledger";
import { StoreError } from "@reins/store";
import { describe, expect, it } from "vitest";
import { ledgerError, noLedger } from "./ledger-error.ts";

describe("the error for a ledger that cannot be used", () => {
  it.each([
    [new StoreError("locked", "in use by another process"), 4, "reins up"],
    [new StoreError("full", "the disk is full"), 1, "Free disk space"],
    [new StoreError("newer", "of version 9"), 3, "newer"],
    [new StoreError("corrupt", "the database is damaged"), 3, "backup"],
    [new LedgerError("corrupt", "entry 3 is not what it says"), 1, "reins ledger verify"],
    [new LedgerError("conflict", "of another ledger"), 1, "reins ledger show"],
    [new LedgerError("unreadable", "others may read it"), 1, "keys"],
  ])("%s", (error, exitCode, next) => {
    expect(ledgerError(error, "/home")).toMatchObject({
      message: `The ledger in /home: ${error.message}`,
      next: expect.stringContaining(next),
      exitCode,
    });
  });

  it("returns unknown errors unchanged", () => {
    const error = new Error("a mistake in the code");
    expect(ledgerError(error, "/home")).toBe(error);
    const unknown = new StoreError("invalid", "there is no such query");
    expect(ledgerError(unknown, "/home")).toBe(unknown);
  });

  it("reports a home without a ledger", () => {
    expect(noLedger("/home")).toMatchObject({ exitCode: 3, next: expect.stringContaining("reins up") });
  });
});
