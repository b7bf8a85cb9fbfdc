import { expect, test } from "vitest";
import { reportersOf, reportLines } from "./agent-reports.tsx";

const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const report = (second: number, payload = "{}", count = 1) => ({ at: at(second), count, payload });
const reporter = (agent: string, session: string, reports: object) => ({
  tenant: "t",
  user: "u",
  agent,
  session,
  ...reports,
});

test("agents whose last report is an error arrived first, the newest error before older ones", () => {
  const reports = [
    reporter("well", "s1", { heartbeat: report(9) }),
    reporter("recovered", "s2", { error: report(5), success: report(6) }),
    reporter("failed", "s3", { error: report(3), success: report(2) }),
    reporter("failed later", "s4", { error: report(4) }),
  ];
  const names = reportersOf(reports, undefined).map(({ agent }) => agent);
  expect(names).toEqual(["failed later", "failed", "well", "recovered"]);
});

test("only the reports of the given session are listed", () => {
  const reports = [reporter("a", "s1", {}), reporter("b", "s2", {})];
  expect(reportersOf(reports, "s2").map(({ agent }) => agent)).toEqual(["b"]);
  expect(reportersOf(reports, "s3")).toEqual([]);
});

test("an agent has one line for each kind of report, errors first", () => {
  const lines = reportLines(
    reporter("a", "s", {
      heartbeat: report(1, "{}", 1_200),
      success: report(2, "null"),
      error: report(3, '{"error":"no frogs"}', 2),
    }),
  );
  expect(lines).toEqual([
    { kind: "error", at: at(3), times: "2 times", text: '{"error":"no frogs"}' },
    { kind: "success", at: at(2), times: "once", text: "" },
    { kind: "heartbeat", at: at(1), times: "1,200 times", text: "" },
  ]);
});
