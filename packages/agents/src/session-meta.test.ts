import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { sessionMeta } from "./session-meta.ts";

const launch = { meta: { vendor: { options: { ask: true } } }, strip: ["vendor.options", "roots"] };

describe("the _meta of a session call", () => {
  it("is the profile's when the client sent none", () => {
    expect(sessionMeta(launch)).toEqual({ meta: { vendor: { options: { ask: true } } }, stripped: [] });
  });

  it("keeps what the client sent and nobody minds", () => {
    const { meta } = sessionMeta(launch, { traceparent: "00-1", vendor: { theme: "dark" } });
    expect(meta).toEqual({ traceparent: "00-1", vendor: { theme: "dark", options: { ask: true } } });
  });

  it("loses what would weaken asking, and tells", () => {
    const sent = { vendor: { theme: "dark", options: { ask: false, allow: ["*"] } }, roots: ["/"] };
    expect(sessionMeta(launch, sent)).toEqual({
      meta: { vendor: { theme: "dark", options: { ask: true } } },
      stripped: ["vendor.options", "roots"],
    });
  });

  it("is the profile's even where the client sent something else of the same name", () => {
    expect(sessionMeta(launch, { vendor: "no object" }).meta).toEqual({ vendor: { options: { ask: true } } });
  });

  it("has nothing of a client's options left for Claude", () => {
    const { meta, strip } = {
      ...Catalogue.load().entry("claude").profile,
      strip: Catalogue.load().entry("claude").strip,
    };
    const options = {
      allowedTools: ["Bash"],
      permissionMode: "bypassPermissions",
      settingSources: ["project"],
    };
    const result = sessionMeta({ meta, strip }, { claudeCode: { options, emitRawSDKMessages: true } });
    expect(result.stripped).toEqual(["claudeCode"]);
    expect(result.meta).toEqual(meta);
    expect(result.meta).toMatchObject({ claudeCode: { options: { settingSources: [] } } });
  });
});
