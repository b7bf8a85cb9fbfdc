import { describe } from "vitest";
import { describeCommits } from "./commits.ts";
import { describeConcurrency } from "./concurrency.ts";
import { describeLeases } from "./leases.ts";
import { describeLifetime } from "./lifetime.ts";
import { describeQueries } from "./queries.ts";
import type { StoreSubject } from "./subject.ts";
import { describeUndoing } from "./undoing.ts";

/** What any store must hold to. Declares the tests of one kind of store. */
export function describeStore(kind: string, subject: StoreSubject): void {
  describe(`the store in ${kind}`, () => {
    describeCommits(subject);
    describeConcurrency(subject);
    describeUndoing(subject);
    describeQueries(subject);
    describeLeases(subject);
    describeLifetime(subject);
  });
}
