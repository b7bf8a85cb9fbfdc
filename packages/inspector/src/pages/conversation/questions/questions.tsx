import type { Question } from "../../../acp/question.ts";
import { ElicitationForm } from "./elicitation-form.tsx";
import { PermissionPanel } from "./permission-panel.tsx";

/** What the agent wants to know before it goes on. */
export function Questions({ questions }: { questions: readonly Question[] }) {
  const [first] = questions;
  if (!first) return null;
  return (
    <section
      aria-label="The agent asks"
      className="max-h-[55dvh] overflow-auto border-t border-warn bg-surface px-4 py-3"
    >
      <div className="mx-auto flex max-w-4xl flex-col gap-2">
        {questions.length > 1 && (
          <p className="text-2xs text-ink-faint">{questions.length} questions wait; this is the oldest.</p>
        )}
        {first.kind === "permission" ? (
          <PermissionPanel key={first.id} question={first} />
        ) : (
          <ElicitationForm key={first.id} question={first} />
        )}
      </div>
    </section>
  );
}
