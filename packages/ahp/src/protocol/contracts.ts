import type { z } from "zod";
import { choice, list, listOrNothing, map, optional, struct, text, u64 } from "../wire/schema.ts";

/** The state of a run. */
export const RunStatus = choice("RunStatus", [
  "created",
  "planning",
  "executing",
  "verifying",
  "completed",
  "failed",
  "cancelled",
]);
export type RunStatus = z.infer<typeof RunStatus>;

/** Payload of `run_lifecycle`: a durable change of state of one run. */
export const RunLifecycleEvent = struct("RunLifecycleEvent", {
  run_id: text,
  session_id: text,
  status: RunStatus,
  prompt: optional(text),
  result_summary: optional(text),
  error: optional(text),
  started_at: optional(text),
  updated_at: text,
  metadata: optional(map),
});
export type RunLifecycleEvent = z.infer<typeof RunLifecycleEvent>;

/** Something kept that can be looked at later. */
export const ArtifactRef = struct("ArtifactRef", {
  id: text,
  kind: optional(text),
  uri: optional(text),
  path: optional(text),
  mime_type: optional(text),
  sha256: optional(text),
  size_bytes: optional(u64),
  summary: optional(text),
});
export type ArtifactRef = z.infer<typeof ArtifactRef>;

/** What speaks for a claim. */
export const EvidenceRef = struct("EvidenceRef", {
  kind: text,
  summary: text,
  artifact: optional(ArtifactRef),
  metadata: optional(map),
});
export type EvidenceRef = z.infer<typeof EvidenceRef>;

/** The state of a task. */
export const TaskStatus = choice("TaskStatus", [
  "pending",
  "in_progress",
  "completed",
  "failed",
  "skipped",
  "cancelled",
]);
export type TaskStatus = z.infer<typeof TaskStatus>;

/** One task of a run. */
export const TaskItem = struct("TaskItem", {
  id: text,
  title: text,
  status: TaskStatus,
  depends_on: listOrNothing(text),
  evidence: listOrNothing(EvidenceRef),
  artifacts: listOrNothing(ArtifactRef),
  error: optional(text),
  updated_at: optional(text),
  metadata: optional(map),
});
export type TaskItem = z.infer<typeof TaskItem>;

/** Payload of `task_list`: the whole task graph as it is now. */
export const TaskListEvent = struct("TaskListEvent", {
  run_id: text,
  session_id: text,
  tasks: list(TaskItem),
  updated_at: text,
  metadata: optional(map),
});
export type TaskListEvent = z.infer<typeof TaskListEvent>;

/** The state of a verification, or of one check of it. */
export const VerificationStatus = choice("VerificationStatus", [
  "pending",
  "running",
  "passed",
  "failed",
  "skipped",
  "needs_review",
]);
export type VerificationStatus = z.infer<typeof VerificationStatus>;

/** One check of a verification. */
export const VerificationCheck = struct("VerificationCheck", {
  id: text,
  subject: text,
  status: VerificationStatus,
  command: optional(text),
  message: optional(text),
  evidence: listOrNothing(EvidenceRef),
  artifacts: listOrNothing(ArtifactRef),
  metadata: optional(map),
});
export type VerificationCheck = z.infer<typeof VerificationCheck>;

/** Payload of `verification`: what was checked, and what risk remains. */
export const VerificationEvent = struct("VerificationEvent", {
  run_id: text,
  session_id: text,
  status: VerificationStatus,
  checks: listOrNothing(VerificationCheck),
  residual_risks: listOrNothing(text),
  updated_at: text,
  metadata: optional(map),
});
export type VerificationEvent = z.infer<typeof VerificationEvent>;
