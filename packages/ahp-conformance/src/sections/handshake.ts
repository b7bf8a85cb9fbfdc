import { AhpError, HandshakeRequest, HandshakeResponse, HarnessConfig, isObject, RPC } from "@reins/ahp";
import type { Credentials } from "../channels/channel.ts";
import { type Check, Inapplicable, improved, must, type Section, should, Unmet } from "../check.ts";
import { decodeOrFail, expectError, expectResult } from "../expect.ts";
import { memberChecks } from "../mutations.ts";
import type { Probe } from "../probe.ts";
import { HANDSHAKE, requestText } from "../samples.ts";

/** Negotiation of the version, and the harness's description of itself. */
export const handshake: Section = {
  section: "Handshake",
  reference: "Protocol Version; Methods (ahp/handshake); Client Lifecycle",
  checks: [
    must("handshake-result", "a handshake is answered with version, name and capabilities", async (probe) => {
      const answer = await shake(probe, "2.4");
      const { config: _, ...rest } = asObject(expectResult(answer));
      decodeOrFail(HandshakeResponse, rest, answer);
    }),
    must("handshake-same-major", "the version in the answer is a 2", async (probe) => {
      const answer = await shake(probe, "2.4");
      const { protocol_version } = asObject(expectResult(answer));
      if (typeof protocol_version !== "string" || protocol_version.split(".")[0] !== "2")
        throw new Unmet(`the version answered is ${JSON.stringify(protocol_version)}`, answer);
    }),
    must("handshake-config", "the limits in the answer are whole numbers", async (probe) => {
      const answer = await shake(probe, "2.4");
      const { config } = asObject(expectResult(answer));
      if (config === undefined || config === null) throw new Inapplicable("the answer has no config");
      decodeOrFail(HarnessConfig, config, answer);
    }),
    should("handshake-config-told", "the answer tells the limits", async (probe) => {
      const answer = await shake(probe, "2.4");
      if (!isObject(asObject(expectResult(answer)).config)) throw new Unmet("no config", answer);
    }),
    must("handshake-minor-accepted", "any version of major 2 is accepted", async (probe) => {
      for (const version of ["2", "2.0", "2.3", "2.99", "2.x", "2.4.1"])
        expectResult(await shake(probe, version), `version ${version}`);
    }),
    must("handshake-other-major-refused", "another major version is refused with -32000", async (probe) => {
      for (const version of ["3.0", "1.0", "20.4"])
        expectError(await shake(probe, version), [RPC.unsupportedVersion], `version ${version}`);
    }),
    must(
      "handshake-odd-version-refused",
      "what is no version of major 2 is refused with -32000",
      async (probe) => {
        for (const version of ["", "v2.4", "2-beta.1", " 2.4"])
          expectError(await shake(probe, version), [RPC.unsupportedVersion], `version "${version}"`);
      },
    ),
    must(
      "handshake-repeatable",
      "a handshake may be repeated, also after one that was refused",
      async (probe) => {
        expectResult(await shake(probe, "2.4"));
        await shake(probe, "9.0");
        expectResult(await shake(probe, "2.4"), "the handshake after another");
        expectResult(await probe.decide("pre_action"), "an event after it");
      },
    ),
    ...memberChecks("handshake", "ahp/handshake", HandshakeRequest, HANDSHAKE),
    improved(
      "handshake-session-token",
      "each handshake returns a session token of its own",
      async (probe) => {
        const answer = await shake(probe, "2.4");
        const { session_token } = asObject(expectResult(answer));
        if (typeof session_token !== "string" || session_token === "")
          throw new Unmet("no session_token", answer);
        const again = await shake(probe, "2.4");
        if (asObject(expectResult(again)).session_token === session_token)
          throw new Unmet("the same session_token twice", again);
      },
    ),
    improved(
      "handshake-minor-negotiated",
      "an older agent is answered with a version it knows",
      async (probe) => {
        const answer = await shake(probe, "2.3");
        const { protocol_version } = asObject(expectResult(answer));
        if (!/^2\.[0-3]$/.test(String(protocol_version)))
          throw new Unmet(`2.3 is answered with ${JSON.stringify(protocol_version)}`, answer);
      },
    ),
  ],
};

function shake(probe: Probe, protocol_version: string) {
  return probe.call("ahp/handshake", { ...HANDSHAKE, protocol_version });
}

function asObject(result: unknown): Readonly<Record<string, unknown>> {
  return isObject(result) ? result : {};
}

const WRONG = "conformance-wrong-secret";
const NONE_GIVEN = "no credentials were given to the kit";

/** Clients without valid credentials are rejected, where the harness requires them. */
export const authentication: Section = {
  section: "Authentication",
  reference: "Authentication",
  checks: [
    check("auth-missing", "without credentials a client is turned away with 401", () => undefined),
    check("auth-wrong", "with a wrong secret a client is turned away with 401", ({ type }) =>
      type === "bearer" ? { type, token: WRONG } : { type, key: WRONG },
    ),
    should(
      "auth-in-query",
      "credentials in the query of the URL are accepted, as the protocol's clients send them",
      async (probe) => {
        const { connections } = probe;
        const { target, credentials } = connections;
        if (!credentials || target.transport !== "websocket") throw new Inapplicable(NONE_GIVEN);
        const url = new URL(target.url);
        if (credentials.type === "bearer") url.searchParams.append("token", credentials.token);
        else url.searchParams.append("api_key", credentials.key);
        await probe.greet(await connections.anonymous({ ...target, url: url.href }));
      },
      { transports: ["websocket"] },
    ),
  ],
};

function check(id: string, title: string, other: (right: Credentials) => Credentials | undefined): Check {
  return {
    id,
    title,
    level: "should",
    transports: ["http", "websocket"],
    run: async (probe) => {
      if (!probe.connections.credentials) throw new Inapplicable(NONE_GIVEN);
      const outcome = await knock(probe, other(probe.connections.credentials));
      if (!outcome.includes("401")) throw new Unmet(`expected status 401, got: ${outcome}`);
    },
  };
}

/** What a client with other credentials meets. */
async function knock(probe: Probe, credentials: Credentials | undefined): Promise<string> {
  try {
    const { connections } = probe;
    const channel = await (credentials ? connections.own(credentials) : connections.anonymous());
    const text = requestText("knock", "ahp/handshake", HANDSHAKE);
    const reply = await channel.exchange(text, { id: "knock", waitMs: probe.waitMs });
    return `${reply.status ?? ""} ${reply.text ?? reply.ended ?? "silence"}`;
  } catch (error) {
    if (error instanceof AhpError) return error.message;
    throw error;
  }
}
