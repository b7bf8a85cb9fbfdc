import type { ProbeResult, VerifyReport } from "@reins/host";
import { printableLine, table } from "../../../printable.ts";
import { DEEDS, SETTINGS } from "./words.ts";

const PROBES: readonly ProbeResult["probe"][] = [
  ...(["write", "command", "look", "read", "outside", "fetch"] as const),
  ...(["mention", "link", "switch"] as const),
];

/** What a verification found, for people. */
export function describeReport(report: VerifyReport, name: string): string {
  const { version, live, level, unasked } = report;
  const verdict = live ? `the gate is live, at the level ${level}` : `the gate is NOT live (${level})`;
  const besides = unasked.length > 0 ? `; done unasked and seen: ${unasked.join(", ")}` : "";
  const rounds = [...Map.groupBy(report.probes, ({ setting, answer }) => `${setting} ${answer}`).values()];
  const parts = [
    `${name} ${printableLine(version)}: ${verdict}${besides}\n`,
    table([["told to", "held", "tools"], ...PROBES.map((probe) => holdingRow(report, probe))]),
    table([["where", "answered", ...PROBES], ...rounds.map(rowOf)]),
    notes(report),
    faults(report),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

/** One row for each thing it was told to do: what held it back from it, and the tools that it took for it. */
function holdingRow({ held, probes }: VerifyReport, name: ProbeResult["probe"]): string[] {
  const used = probes
    .filter(({ probe }) => probe === name)
    .flatMap(({ asked, observed, failed }) => [...asked.map(({ tool }) => tool), ...observed, ...failed]);
  return [DEEDS[name], held[name], printableLine([...new Set(used)].join(", ")) || "-"];
}

/** One row for each round: what became of each probe. */
function rowOf(round: readonly ProbeResult[]): string[] {
  const [first] = round;
  if (!first) return [];
  const cells = PROBES.map((name) => round.find(({ probe }) => probe === name)?.outcome ?? "-");
  return [SETTINGS[first.setting], first.answer, ...cells];
}

function notes({ stripped, sprung, heard, remarks }: VerifyReport): string {
  const keys = [...new Set(stripped.map(({ what }) => what))];
  const lines = [
    ...(keys.length > 0 ? [`taken out of what the client sent: ${keys.join(", ")}`] : []),
    sprung.length === 0
      ? "nothing of the hostile workspace, home or environment was run"
      : `${sprung.length} things of the hostile workspace, home or environment were run`,
    ...(heard.length > 0 ? ["what the hostile workspace tells agents reached the model"] : []),
    ...remarks,
  ];
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}

function faults({ faults }: VerifyReport): string {
  return faults.map((fault) => `! ${printableLine(fault)}\n`).join("");
}
