import { Link } from "@tanstack/react-router";
import { z } from "zod";
import { Facts } from "../design/facts.tsx";
import { visible } from "../design/visible.ts";

const names = z.array(z.string()).catch([]);
const Subject = z.object({
  user: z.string().catch(""),
  tenant: z.string().catch(""),
  roles: names,
  scopes: names,
  agent: z.string().catch(""),
  trust: z.string().catch(""),
  chain: names,
  depth: z.number().catch(0),
  session: z.string().catch(""),
  started: z.string().catch(""),
  mode: z.string().catch(""),
});

/** Whoever acts: on whose behalf, and through whom. */
export function SubjectFacts({ subject }: { subject: Readonly<Record<string, unknown>> }) {
  const { user, tenant, roles, scopes, agent, trust, chain, depth, session, started, mode } =
    Subject.parse(subject);
  const parts = (...texts: readonly (string | false)[]) => visible(texts.filter(Boolean).join(", "));
  return (
    <Facts
      facts={[
        [
          "On behalf of",
          parts(
            `${user} of ${tenant}`,
            roles.length > 0 && `as ${roles.join(", ")}`,
            `scopes ${scopes.join(", ") || "none"}`,
          ),
        ],
        [
          "Agent",
          parts(
            agent,
            `trust ${trust}`,
            chain.length > 0 && `through ${chain.join(" → ")}`,
            depth > 0 && `depth ${depth}`,
            mode !== "" && `mode ${mode}`,
            started !== "" && `started ${started}`,
          ),
        ],
        ...(/^[0-9a-f]{64}$/.test(session)
          ? ([
              [
                "Session",
                <Link
                  key="session"
                  to="/sessions/$id"
                  params={{ id: session }}
                  className="font-mono text-xs text-accent hover:underline"
                >
                  {session.slice(0, 16)}…
                </Link>,
              ],
            ] as const)
          : []),
      ]}
    />
  );
}
