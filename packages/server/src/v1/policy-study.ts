import { homedir } from "node:os";
import { resolve } from "node:path";
import { EventType } from "@reins/ahp";
import { studyOperations } from "@reins/api";
import type { Subject } from "@reins/supervisor";
import { isAdmin, PolicyStudy, tenantFor } from "@reins/supervisor";
import { HttpProblem } from "../problems.ts";
import type { AuthorizedCall, ResponseBody, Routes } from "../routes/router.ts";
import { conforming } from "../routes/router.ts";

const { validatePolicy, testPolicy, explainPolicy, backtestPolicy, coverPolicy } = studyOperations;
const NATIVE = "native";
const SOME_SESSION = "supposed";

type Checked = Awaited<ReturnType<PolicyStudy["check"]>>;
type Outcome = Checked["tests"][number];
type Fault = Checked["faults"][number];

/** The most concurrent studies of all tenants; each runs in its own thread. */
const AT_ONCE = 6;

/** Validation, tests, explanation, backtest and coverage of a constitution. */
export const studyRoutes: Routes = {
  name: "study",
  mount(router) {
    let running = 0;
    const oneOfFew = async <Answer>({ harness, principal }: AuthorizedCall, study: () => Promise<Answer>) => {
      const release = harness.quotas.hold("studies", principal);
      try {
        if (running >= AT_ONCE)
          throw new HttpProblem(
            "too_many_requests",
            "other drafts are being studied; try again when that is done",
            { headers: { "retry-after": "10" } },
          );
        running += 1;
        return await study().finally(() => {
          running -= 1;
        });
      } finally {
        release();
      }
    };
    router.handle(validatePolicy, async (call) => {
      const { made, faults, remarks, tests } = await oneOfFew(call, () => studyOf(call).check(call.body));
      return {
        fine: made !== undefined && faults.length === 0,
        constitution_hash: made?.hashes.constitution_hash ?? null,
        rules_hash: made?.hashes.rules_hash ?? null,
        rules: made?.rules ?? 0,
        limits: made?.limits ?? 0,
        faults: faults.map(shownFault),
        remarks: remarks.map(shownFault),
        tests: tests.map(shownOutcome),
        no_looser: made?.noLooser ?? null,
      };
    });
    router.handle(testPolicy, async (call) => {
      const { made, faults, tests } = await oneOfFew(call, () => studyOf(call).check(call.body));
      if (!made) throw new HttpProblem("conflict", `the draft cannot be read: ${faults[0]?.message}`);
      const outcomes = tests.map(shownOutcome);
      const passed = outcomes.filter((outcome) => outcome.passed).length;
      return { passed, failed: outcomes.length - passed, tests: outcomes };
    });
    router.handle(explainPolicy, (call) => {
      const { rules, prose } = call.body;
      const isDraft = rules !== undefined || prose !== undefined;
      return isDraft ? oneOfFew(call, () => explained(call)) : explained(call);
    });
    router.handle(backtestPolicy, (call) => {
      const { body } = call;
      return oneOfFew(call, () => studyOf(call).backtest(body, past(body), body.examples));
    });
    router.handle(coverPolicy, (call) =>
      oneOfFew(call, () => studyOf(call).coverage(call.body, past(call.body))),
    );
  },
};

function studyOf({ harness, principal, body }: AuthorizedCall): PolicyStudy {
  const asked = typeof body === "object" && body !== null && "tenant" in body ? body.tenant : undefined;
  const tenant = tenantFor(principal, typeof asked === "string" ? asked : undefined);
  return new PolicyStudy(harness, tenant);
}

/** Times are stored in one sortable form. */
function past({ since, limit }: { since?: string | undefined; limit?: number | undefined }) {
  return { since: since === undefined ? undefined : new Date(since).toISOString(), limit };
}

async function explained(
  call: AuthorizedCall<typeof explainPolicy>,
): Promise<ResponseBody<typeof explainPolicy>> {
  const { body, principal, harness } = call;
  const study = studyOf(call);
  const admin = isAdmin(principal);
  if (!admin && (body.rules !== undefined || body.prose !== undefined))
    throw new HttpProblem("forbidden", 'to try a draft takes the role "admin"');
  if (body.entry !== undefined)
    return conforming(
      explainPolicy.answer,
      await study.explainEntry(body.entry, ({ user }) => admin || user === principal.user, body),
    );
  if (!admin) throw new HttpProblem("forbidden", 'to suppose an action takes the role "admin"');
  const event = body.event ?? {};
  const cwd = resolve(homedir(), body.cwd ?? ".");
  const roots = (body.roots ?? [cwd]).map((root) => resolve(cwd, root));
  const subject = subjectOf(call);
  const payload = event.payload ?? { tool_name: event.tool ?? "", arguments: event.arguments ?? {} };
  const explanation = await study.explainEvent(
    {
      event: {
        event_type: eventTypeOf(event.event_type),
        session_id: subject.session,
        agent_id: subject.agent,
        depth: subject.depth,
        payload,
      },
      subject,
      requestContext: { workspace: { cwd, roots, tools: body.tools } },
    },
    body,
  );
  return conforming(explainPolicy.answer, harness.redact(explanation));
}

/** The hypothetical subject; missing members come from the caller or are defaults. */
function eventTypeOf(given = "pre_action"): EventType {
  const { data } = EventType.safeParse(given);
  if (data === undefined) throw new HttpProblem("invalid", `there is no control event "${given}"`);
  return data;
}

function subjectOf({ body, principal, harness }: AuthorizedCall<typeof explainPolicy>): Subject {
  const given = body.subject ?? {};
  const agent = given.agent ?? NATIVE;
  return {
    user: given.user ?? principal.user,
    tenant: tenantFor(principal, body.tenant),
    roles: given.roles ?? principal.roles,
    scopes: given.scopes ?? principal.scopes,
    agent,
    trust: given.trust ?? harness.policies.roster.trustOf(agent),
    session: given.session ?? SOME_SESSION,
    started: given.started ?? "interactive",
    chain: given.chain ?? [],
    depth: given.depth ?? 0,
    mode: given.mode ?? "default",
    enforcement: given.enforcement ?? "asked",
  };
}

function shownFault({ message, place }: Fault) {
  return { message, line: place?.line ?? null, column: place?.column ?? null };
}

function shownOutcome({ test, got, fault }: Outcome) {
  return {
    name: test.name,
    passed: fault === undefined,
    expected: { verdict: test.expect, rule: test.rule ?? null },
    got: { verdict: got.verdict, rule: got.rule ?? null },
    fault: fault ?? null,
  };
}
