import type { Overview } from "@reins/api";
import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { aSelf } from "../../../test/examples.ts";
import { cached, rendered, renderedText } from "../../../test/render.ts";
import { SignIn } from "../../app/sign-in.tsx";
import { Figures, PercentilePanel, VerdictMix } from "./figures.tsx";
import { BoardPanel, MailPanel, OverviewPage } from "./overview-page.tsx";

const none = { count: 0, p50: 0, p90: 0, p99: 0, max: 0 };
const some = { count: 1_200, p50: 0.4, p90: 12, p99: 340, max: 65_000 };

function anOverview(more: Partial<Overview> = {}): Overview {
  return {
    at: new Date().toISOString(),
    started_at: new Date().toISOString(),
    version: "0.1.0",
    decisions: { total: 0, by_verdict: {}, by_enforcement: {}, latency_ms: none },
    approvals: { pending: 0, oldest_wait_ms: null, answered: 0, wait_ms: none },
    usage: { turns: 0, tokens: 0, cost_usd: 0 },
    sessions: { live: 0, running: 0 },
    processes: { agents: 0, memory_bytes: null },
    agent_reports: [],
    log: { events: 0, per_second: 0 },
    ledger: { entries: 3, per_second: 0.25 },
    requests: { total: 0, per_second: 0, latency_ms: none },
    event_loop_ms: { p50: 0, p99: 0, max: 0 },
    stalls: { count: 0, total_ms: 0, last: null },
    memory: { rss: 0, heap_used: 0, external: 0 },
    history: {
      step_ms: 10_000,
      at: [],
      decisions: [],
      blocked: [],
      asked: [],
      latency_p50_ms: [],
      latency_p99_ms: [],
      ledger_entries: [],
      log_events: [],
      requests: [],
      event_loop_p99_ms: [],
      rss_bytes: [],
      pending_approvals: [],
    },
    ...more,
  };
}

describe("the key figures", () => {
  const figures = (more: Partial<Overview> = {}) => createElement(Figures, { overview: anOverview(more) });

  test("show zeros of a new home without a share", () => {
    const shown = renderedText(figures());
    expect(shown).toContain("Blocked 0");
    expect(shown).not.toContain("% of all");
    expect(shown).toContain("Pending approvals 0 none pending");
    expect(shown).toContain("Cost $0.00 0 turns");
    expect(shown).toContain("Ledger 3 0.3 a second");
  });

  test("show shares, ages, memory and money", () => {
    const shown = renderedText(
      figures({
        decisions: { total: 2_000, by_verdict: { blocked: 25 }, by_enforcement: {}, latency_ms: none },
        approvals: { pending: 2, oldest_wait_ms: 61_000, answered: 0, wait_ms: none },
        usage: { turns: 3, tokens: 12_345, cost_usd: 0.004 },
        processes: { agents: 1, memory_bytes: 150 * 1_024 ** 2 },
      }),
    );
    expect(shown).toContain("Decisions 2,000 since the start");
    expect(shown).toContain("Blocked 25 1.3 % of all");
    expect(shown).toContain("Pending approvals 2 oldest 1.0 min");
    expect(shown).toContain("Agents running 1 150 MB");
    expect(shown).toContain("Tokens 12.3K");
    expect(shown).toContain("Cost $0.004 3 turns");
  });

  test("highlight pending approvals", () => {
    const approvals = { pending: 2, oldest_wait_ms: 1, answered: 0, wait_ms: none };
    expect(rendered(figures({ approvals }))).toContain("text-warn");
    expect(rendered(figures())).not.toContain("text-warn");
  });
});

test("the distribution of verdicts counts every verdict and links to its entries", () => {
  const decisions = {
    total: 3,
    by_verdict: { allowed: 2, blocked: 1 },
    by_enforcement: { asked: 3 },
    latency_ms: none,
  };
  const mix = createElement(VerdictMix, { overview: anOverview({ decisions }) });
  expect(renderedText(mix)).toBe(
    "Verdicts allowed 2 ask 0 blocked 1 modify 0 defer 0 performed 0 confined 0 asked 3 observed 0",
  );
  expect(rendered(mix)).toContain("/ui/ledger?quality=policy_verdict&amp;tag=blocked");
  expect(rendered(mix).match(/flex-grow/g)).toHaveLength(2);
});

test("percentiles are durations, and dashes where nothing was measured", () => {
  const { decisions } = anOverview();
  const overview = anOverview({ decisions: { ...decisions, latency_ms: some } });
  const shown = renderedText(createElement(PercentilePanel, { overview }));
  expect(shown).toContain("A verdict 1,200 0.40 ms 12 ms 340 ms 1.1 min");
  expect(shown).toContain("Approval answer 0 – – – –");
});

describe("mail and board", () => {
  test("list the newest mail first, with hidden characters escaped", () => {
    const message = (id: string, subject: string, body: string) => ({
      id,
      from: "ada",
      to: ["pond", "reed"],
      subject,
      body,
      timestamp: new Date().toISOString(),
    });
    const messages = [message("1", "first\u202e", ""), message("2", "", "second")];
    const shown = renderedText(createElement(MailPanel), cached([["mail"], { messages }]));
    expect(shown.indexOf("second")).toBeLessThan(shown.indexOf("first⟨U+202E⟩"));
    expect(shown).toContain("ada to pond, reed");
  });

  test("say that they are empty or loading", () => {
    expect(renderedText(createElement(MailPanel), cached([["mail"], { messages: [] }]))).toContain(
      "No mail yet",
    );
    expect(renderedText(createElement(MailPanel))).toContain("Loading mail");
    expect(renderedText(createElement(BoardPanel), cached([["board"], { lines: [] }]))).toContain(
      "The board is empty",
    );
    const posts = cached([["board"], { lines: ["ada: hello", "bob: \u200bhi"] }]);
    expect(renderedText(createElement(BoardPanel), posts)).toContain("ada: hello bob: ⟨U+200B⟩hi");
  });
});

describe("the overview", () => {
  const page = (is_admin: boolean, ...more: readonly (readonly [readonly string[], unknown])[]) =>
    renderedText(
      createElement(SignIn, null, createElement(OverviewPage)),
      cached([["self"], aSelf({ is_admin })], ...more),
    );

  test("has a tour until something was decided", () => {
    expect(page(true, [["overview"], anOverview()])).toContain("Three things to try");
  });

  test("shows what agents reported", () => {
    const report = { at: new Date().toISOString(), count: 1, payload: '{"error":"frozen"}' };
    const agent_reports = [
      { tenant: "default", user: "ada", agent: "counter", session: "pond", error: report },
    ];
    const shown = page(true, [["overview"], anOverview({ agent_reports })]);
    expect(shown).toContain('counter for ada pond error 0 s ago once {"error":"frozen"}');
  });

  test("has metrics for the operator only", () => {
    const shown = page(false, [["runs"], { runs: [] }]);
    expect(shown).toContain("Server metrics are visible to the operator only.");
    expect(shown).not.toContain("Decisions");
    expect(shown).toContain("No runs yet");
  });
});
