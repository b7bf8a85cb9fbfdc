import type { Report } from "../report/report.ts";

/** What a verdict on these figures does not cover. */
export function* remarksOn(
  report: Pick<Report, "entries" | "withheld" | "pinned" | "seen">,
): Generator<string> {
  if (report.entries === 0) yield "there are no entries";
  if (!report.pinned) {
    yield "the log key was taken from the ledger itself; compare it with one you know from elsewhere, or give that one";
  }
  if (!report.seen.checked) {
    yield "without an earlier checkpoint a shortened or rolled-back log cannot be ruled out";
  }
  if (report.withheld > 0) {
    yield "withheld private content is known by its digest only; its entries verify all the same";
  }
}
