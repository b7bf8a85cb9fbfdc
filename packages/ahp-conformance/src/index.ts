export type { Credentials, Target, TargetTransport } from "./channels/channel.ts";
export { type FormatOptions, formatReport } from "./format.ts";
export type {
  CheckOutcome,
  CheckReport,
  ConformanceReport,
  ExchangeRecord,
  Level,
  SectionReport,
  Tally,
} from "./report.ts";
export { type ConformanceOptions, runConformance } from "./run.ts";
