import type { OtelSettings } from "@reins/telemetry/otel";
import { z } from "zod";
import { CliError } from "../errors.ts";

const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** Sent with every request. A value `@path` is read from a file, relative to the home. */
const Headers = z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string()).default({});

/** The schema of `audit` in `reins.yaml`: where the ledger is exported to as it is written. */
export const AuditSettings = z
  .array(
    z
      .strictObject({
        /** Identifies it across restarts. */
        name: z.string().regex(NAME, "a name has letters, digits, dots, dashes and underscores"),
        /** An address of http or https, a file, or `-` for standard output. Relative paths start at the home. */
        to: z.string().min(1),
        format: z.enum(["jsonl", "ocsf"]).default("jsonl"),
        /** Signs the requests to an address. `@path` reads it from a file, relative to the home. */
        secret: z.string().min(1).optional(),
        headers: Headers,
      })
      .refine(
        ({ to, secret }) => !isAddress(to) || secret !== undefined,
        "an address needs a secret, which signs the requests",
      ),
  )
  .max(20)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "two exports have the same name")
  .default([]);
export type AuditSettings = z.infer<typeof AuditSettings>;

/** Names standard output as the place of an export. */
export const OUTPUT = "-";

/** Whether records are posted there. */
export function isAddress(to: string): boolean {
  return /^https?:\/\//i.test(to);
}

/** The schema of `telemetry` in `reins.yaml`: where traces and metrics go. */
export const TelemetrySettings = z
  .strictObject({
    /** The address of an OTLP receiver over HTTP; the signals are sent to `v1/traces` and `v1/metrics` below it. */
    endpoint: z
      .url({ protocol: /^https?$/ })
      .refine(isWithoutPassword, "a password belongs into headers")
      .optional(),
    headers: Headers,
    service_name: z.string().min(1).max(255).default("reins"),
    traces: z.boolean().default(true),
    metrics: z.boolean().default(true),
  })
  .prefault({});
export type TelemetrySettings = z.infer<typeof TelemetrySettings>;

const TRACES_DELAY_MS = 5_000;
const METRICS_INTERVAL_MS = 60_000;

/** Where telemetry goes: as the variables of OpenTelemetry say, then the file; undefined where no address is given. */
export function telemetrySettings(
  file: TelemetrySettings,
  environment: Readonly<Record<string, string | undefined>>,
): OtelSettings | undefined {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === "true") return undefined;
  const variable = (name: string) => environment[`OTEL_${name}`]?.trim() || undefined;
  const base = variable("EXPORTER_OTLP_ENDPOINT") ?? file.endpoint;
  const target = (signal: "traces" | "metrics") => {
    const name = signal.toUpperCase();
    if (variable(`${name}_EXPORTER`) === "none" || !file[signal]) return undefined;
    const own = variable(`EXPORTER_OTLP_${name}_ENDPOINT`);
    if (own !== undefined) return addressOf(own, `OTEL_EXPORTER_OTLP_${name}_ENDPOINT`);
    return base && addressOf(`${base.replace(/\/+$/, "")}/v1/${signal}`, "OTEL_EXPORTER_OTLP_ENDPOINT");
  };
  const traces = target("traces");
  const metrics = target("metrics");
  if (traces === undefined && metrics === undefined) return undefined;
  return {
    ...{ traces, metrics },
    serviceName: variable("SERVICE_NAME") ?? file.service_name,
    headers: { ...file.headers, ...headersIn(variable("EXPORTER_OTLP_HEADERS")) },
    delayMs: millisecondsIn(variable("BSP_SCHEDULE_DELAY")) ?? TRACES_DELAY_MS,
    intervalMs: millisecondsIn(variable("METRIC_EXPORT_INTERVAL")) ?? METRICS_INTERVAL_MS,
  };
}

/** The headers of `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` with escapes, between commas. What is none is left out. */
export function headersIn(text = ""): Record<string, string> {
  const headers = text.split(",").flatMap((pair) => {
    const [, name, value = ""] = /^\s*([\w!#$%&'*+.^`|~-]+)\s*=(.*)$/s.exec(pair) ?? [];
    const given = unescaped(value.trim());
    return name === undefined || given === undefined || /[^\t\x20-\x7e]/.test(given) ? [] : [[name, given]];
  });
  return Object.fromEntries(headers);
}

function unescaped(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

function addressOf(text: string, variable: string): string {
  if (isAddress(text) && isWithoutPassword(text)) return text;
  throw new CliError(`${variable} is no address of http or https without a password`, {
    next: "Correct the variable, or unset it to continue without telemetry.",
  });
}

/** Whether a text is an address without user and password, which logs and errors would show. */
export function isWithoutPassword(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && url.username === "" && url.password === "";
}

/** A day. */
const MOST_MS = 86_400_000;

function millisecondsIn(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && value >= 1 && value <= MOST_MS ? value : undefined;
}
