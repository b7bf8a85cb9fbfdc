import { describe, expect, it } from "vitest";
import { headersIn, TelemetrySettings, telemetrySettings } from "./exports.ts";

const file = TelemetrySettings.parse({
  endpoint: "https://file.example/otlp/",
  headers: { "x-a": "1", "x-b": "1" },
});

describe("the settings of telemetry", () => {
  it("are none without an address", () => {
    expect(telemetrySettings(TelemetrySettings.parse({}), {})).toBeUndefined();
    expect(
      telemetrySettings(TelemetrySettings.parse({}), { OTEL_EXPORTER_OTLP_ENDPOINT: " " }),
    ).toBeUndefined();
    expect(telemetrySettings(file, { OTEL_SDK_DISABLED: "TRUE" })).toBeUndefined();
    const none = { OTEL_TRACES_EXPORTER: "none", OTEL_METRICS_EXPORTER: "none" };
    expect(telemetrySettings(file, none)).toBeUndefined();
  });

  it("come from the file, and before that from the environment", () => {
    expect(telemetrySettings(file, {})).toEqual({
      traces: "https://file.example/otlp/v1/traces",
      metrics: "https://file.example/otlp/v1/metrics",
      serviceName: "reins",
      headers: { "x-a": "1", "x-b": "1" },
      delayMs: 5_000,
      intervalMs: 60_000,
    });
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: "http://127.0.0.1:9090/api/otlp",
      OTEL_EXPORTER_OTLP_HEADERS: "x-b=2",
      OTEL_SERVICE_NAME: "mine",
      OTEL_BSP_SCHEDULE_DELAY: "100",
      OTEL_METRIC_EXPORT_INTERVAL: "soon",
    };
    expect(telemetrySettings(file, environment)).toEqual({
      traces: "http://127.0.0.1:4318/v1/traces",
      metrics: "http://127.0.0.1:9090/api/otlp",
      serviceName: "mine",
      headers: { "x-a": "1", "x-b": "2" },
      delayMs: 100,
      intervalMs: 60_000,
    });
    const tracesOnly = TelemetrySettings.parse({ endpoint: "http://127.0.0.1:4318", metrics: false });
    expect(telemetrySettings(tracesOnly, {})).toMatchObject({ metrics: undefined });
  });

  it.each(["nowhere", "ftp://files.example", "http://", "localhost:4318", "https://a:b@otel.example"])(
    "refuse %j as an address, and name the variable",
    (address) => {
      expect(() => telemetrySettings(file, { OTEL_EXPORTER_OTLP_ENDPOINT: address })).toThrow(
        "OTEL_EXPORTER_OTLP_ENDPOINT is no address of http or https without a password",
      );
      expect(TelemetrySettings.safeParse({ endpoint: address }).success).toBe(false);
    },
  );
});

it("headers of the environment are unescaped, and what is none is left out", () => {
  expect(headersIn(" a = Bearer%20x , b=c=d,,=e,f,g h=i,j=%zz,k=%0d%0aset: l,m=")).toEqual({
    a: "Bearer x",
    b: "c=d",
    m: "",
  });
  expect(headersIn(undefined)).toEqual({});
});
