import { describe } from "vitest";
import { describeCommits } from "./contract/commits.ts";
import { describeConcurrency } from "./contract/concurrency.ts";
import { describeLeases } from "./contract/leases.ts";
import { describeLifetime } from "./contract/lifetime.ts";
import { describeQueries } from "./contract/queries.ts";
import type { StoreSubject } from "./contract/subject.ts";
import { describeUndoing } from "./contract/undoing.ts";

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
