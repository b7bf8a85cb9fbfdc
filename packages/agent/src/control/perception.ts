import type { Fact } from "./events.ts";

/** What the agent wants to do with the context it asks for. */
export type PerceptionIntent =
  | "recognize"
  | "understand"
  | "locate"
  | "retrieve"
  | "explore"
  | "reason"
  | "validate"
  | "compare"
  | "track";

/** The field of work. */
export type PerceptionDomain =
  | "coding"
  | "writing"
  | "data_analysis"
  | "research"
  | "project_management"
  | "conversation"
  | "operations"
  | "security"
  | "general";

interface TimeRange {
  from?: number | null | undefined;
  to?: number | null | undefined;
  relative?: unknown;
}

/** What the context is to be about; the agent asks about places, and may be told to ask about something else. */
export type PerceptionTarget =
  | { location: { path: string; location_type: string } }
  | { entity: { name: string; entity_type: string; identifier?: string | null | undefined } }
  | { event: { description: string; event_type: string; time_range?: TimeRange | null | undefined } }
  | { relation: { entities: string[]; relation_type: string } }
  | { rule: { name: string; rule_type: string; scope?: string | null | undefined } }
  | { state: { target: string; aspect: string; include_history: boolean } }
  | { resource: { name: string; resource_type: string; constraints?: unknown } }
  | { pattern: { pattern: string; pattern_type: string } };

/** Payload of `context_perception`. */
export interface ContextPerceptionPayload {
  readonly session_id: string;
  readonly intent: PerceptionIntent;
  readonly target: PerceptionTarget;
  readonly domain?: PerceptionDomain | undefined;
  readonly context: {
    readonly workspace: string;
    readonly current_task?: string | undefined;
    readonly query?: string | undefined;
  };
  readonly constraints?: {
    readonly max_results: number | null;
    /** In characters. */
    readonly max_context_length: number | null;
    readonly include_sources?: boolean | undefined;
  };
}

/** Part of a file that matters here. */
export interface FileSnippet {
  readonly path: string;
  readonly snippet: string;
  readonly relevance_score: number;
}

/** A project in a few lines. */
export interface ProjectSummary {
  readonly project_name: string;
  readonly language?: string | null | undefined;
  readonly key_files?: readonly string[] | null | undefined;
  readonly structure_description: string;
}

/** What is added to the agent's context. */
export interface InjectedContext {
  readonly facts: readonly Fact[];
  readonly file_contents?: readonly FileSnippet[] | null | undefined;
  readonly project_summary?: ProjectSummary | null | undefined;
  readonly knowledge?: readonly string[] | null | undefined;
  readonly suggestions?: readonly string[] | null | undefined;
}

/** Context for the agent, none, or how to ask better. */
export type ContextPerceptionDecision =
  | { readonly decision: "allow"; readonly injected_context: InjectedContext }
  | { readonly decision: "block"; readonly reason: string }
  | {
      readonly decision: "refine";
      readonly refined_intent: PerceptionIntent | null;
      readonly refined_target: PerceptionTarget | null;
      readonly scope_hints: readonly string[];
    };
