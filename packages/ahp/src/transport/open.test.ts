import { expect, test } from "vitest";
import { openTransport } from "./open.ts";

test("gRPC is refused in upstream's words", async () => {
  await expect(openTransport({ type: "grpc", url: "http://localhost" })).rejects.toThrow(
    "Capability not supported: gRPC transport not yet implemented",
  );
});

test("addresses that are none are named", async () => {
  await expect(openTransport({ type: "http", url: "ftp://x" })).rejects.toThrow("Invalid HTTP URL: ftp://x");
  await expect(openTransport({ type: "websocket", url: "nonsense" })).rejects.toThrow(
    "Invalid WebSocket URL: nonsense",
  );
});

test("settings that would be ignored are refused", async () => {
  const auth = { method: { type: "mutual_tls", cert_path: "c", key_path: "k", ca_path: null } } as const;
  await expect(openTransport({ type: "http", url: "http://localhost", auth })).rejects.toThrow("mutual TLS");
  await expect(openTransport({ type: "websocket", url: "ws://localhost", auth })).rejects.toThrow(
    "mutual TLS",
  );
});
