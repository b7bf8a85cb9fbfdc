import { readLimited } from "@reins/kit";
import type { OpenHarness } from "@reins/server";
import type { OtelSettings } from "@reins/telemetry/otel";
import { version } from "../installation.ts";
import type { Log } from "../log.ts";

interface TelemetryOptions {
  readonly settings: OtelSettings | undefined;
  readonly opened: Pick<OpenHarness, "harness">;
  readonly log: Log;
}

/** Begins to export traces and metrics, where an address is configured; returns what ends it. */
export async function startTelemetry({
  settings,
  opened,
  log,
}: TelemetryOptions): Promise<() => Promise<void>> {
  if (!settings) return async () => undefined;
  const { OtelExport } = await import("@reins/telemetry/otel");
  const running = new OtelExport({
    ...{ settings, version: version(), harness: opened.harness },
    onChange: (signal, failure) => {
      if (failure === undefined) log.info({ signal }, `${signal} are received again`);
      else log.warn({ signal }, `${signal} are not received, and some are dropped: ${failure}`);
    },
    onError: (err) => log.error({ err }, "telemetry failed"),
  });
  return () => running.close();
}

/** How long a receiver has to answer the doctor, and how much it may say. */
const PROBE_MS = 5_000;
const MOST_ANSWER = 1_048_576;

/** Why a receiver takes no telemetry, if so: sends it an export without content. */
export async function probeReceiver(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const member = url.endsWith("metrics") ? "resourceMetrics" : "resourceSpans";
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ [member]: [] }),
    redirect: "manual",
    signal: AbortSignal.timeout(PROBE_MS),
  });
  if (response.body && !(await readLimited(response.body, MOST_ANSWER))) return "its answer is too large";
  return response.ok ? undefined : `it answers with status ${response.status}`;
}
