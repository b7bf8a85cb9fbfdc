import { AhpError } from "@reins/ahp";
import { type Check, Inapplicable, type Section, Unmet } from "../check.ts";
import { HANDSHAKE, requestText } from "../messages.ts";
import type { Probe } from "../probe.ts";
import type { Credentials } from "../target.ts";

const WRONG = "conformance-wrong-secret";
const NONE_GIVEN = "no credentials were given to the kit";

/** Whoever cannot prove who they are is turned away, where the harness asks for proof. */
export const authentication: Section = {
  section: "Authentication",
  reference: "Authentication",
  checks: [
    check("auth-missing", "without credentials a client is turned away with 401", () => undefined),
    check("auth-wrong", "with a wrong secret a client is turned away with 401", ({ type }) =>
      type === "bearer" ? { type, token: WRONG } : { type, key: WRONG },
    ),
    {
      id: "auth-in-query",
      title: "credentials in the query of the URL are accepted, as the protocol's clients send them",
      level: "should",
      transports: ["websocket"],
      run: async (probe) => {
        const { connections } = probe;
        const { target, credentials } = connections;
        if (!credentials || target.transport !== "websocket") throw new Inapplicable(NONE_GIVEN);
        const url = new URL(target.url);
        if (credentials.type === "bearer") url.searchParams.append("token", credentials.token);
        else url.searchParams.append("api_key", credentials.key);
        await probe.greet(await connections.anonymous({ ...target, url: url.href }));
      },
    },
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
