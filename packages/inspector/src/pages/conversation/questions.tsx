import { useState } from "react";
import type { Option, Question } from "../../acp/connection.ts";
import { usePendingApprovals } from "../../app/approvals.ts";
import { Button, type ButtonKind } from "../../design/button.tsx";
import { Choice, Choices, Field, Form, TextInput } from "../../design/form.tsx";
import { visible, visibleLine } from "../../design/visible.ts";
import { AnswerBar } from "../approvals/answer-bar.tsx";
import { ApprovalFacts, ApprovalWhat, ExactCallView } from "../approvals/approval-detail.tsx";
import { chosenIn, type FormField, formContent, formFields } from "./elicitation-fields.ts";

/** The questions that the agent waits for. */
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

const KINDS: Readonly<Record<string, ButtonKind>> = {
  allow_once: "primary",
  allow_always: "plain",
  reject_once: "danger",
  reject_always: "danger",
};

/** A permission request. If it has an approval, the answer goes to that. */
function PermissionPanel({ question }: { question: Extract<Question, { kind: "permission" }> }) {
  const { call, options, reason, approval: id } = question;
  const approval = usePendingApprovals().data?.find((one) => one.id === id);
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium whitespace-pre-wrap break-words">Allow? {visible(call?.title ?? "")}</p>
      {approval ? (
        <>
          <ApprovalWhat approval={approval} />
          <details>
            <summary className="cursor-pointer text-sm text-ink-soft">
              Asked because {visibleLine(approval.reason)}
            </summary>
            <ApprovalFacts approval={approval} />
          </details>
          <AnswerBar approval={approval} />
        </>
      ) : (
        <>
          {reason !== undefined && <p className="text-sm text-ink-soft">{visibleLine(reason)}</p>}
          {call?.input !== undefined && <ExactCallView given={call.input} />}
          <div className="flex flex-wrap gap-1.5">
            {options.map((option) => (
              <Button
                key={option.optionId}
                kind={KINDS[option.kind ?? ""] ?? "plain"}
                onClick={() => question.answer(chosen(option))}
              >
                {visibleLine(option.name)}
              </Button>
            ))}
          </div>
        </>
      )}
    </div>
  );
}

function chosen({ optionId }: Option): unknown {
  return { outcome: { outcome: "selected", optionId } };
}

/** A form that the agent asks to fill in, or a page that it asks to open. */
function ElicitationForm({ question }: { question: Extract<Question, { kind: "elicitation" }> }) {
  const { message, schema, url, answer } = question;
  const form = url === undefined ? formFields(schema) : [];
  const fields = form ?? [];
  const [filled, setFilled] = useState<Readonly<Record<string, string>>>({});
  const submit = () =>
    answer(
      url === undefined ? { action: "accept", content: formContent(fields, filled) } : { action: "accept" },
    );
  return (
    <Form onSubmit={submit} className="flex flex-col gap-2">
      <p className="font-medium break-words whitespace-pre-wrap">{visible(message)}</p>
      {url !== undefined && (
        <p className="text-sm">
          The agent wants you to open{" "}
          {/^https?:\/\//i.test(url) ? (
            <a
              href={url}
              target="_blank"
              rel="noreferrer noopener"
              className="break-all text-accent underline"
            >
              {visibleLine(url)}
            </a>
          ) : (
            <code className="break-all">{visibleLine(url)}</code>
          )}
          . Check the address first.
        </p>
      )}
      {!form && (
        <p role="alert" className="text-sm text-warn">
          This page cannot show the requested form. Another client of the session may be able to.
        </p>
      )}
      {fields.map((field) => (
        <Control
          key={field.name}
          field={field}
          value={filled[field.name] ?? field.initial}
          onChange={(value) => setFilled({ ...filled, [field.name]: value })}
        />
      ))}
      <div className="flex gap-1.5">
        <Button kind="primary" type="submit" disabled={!form}>
          {url === undefined ? "Send" : "Done"}
        </Button>
        <Button onClick={() => answer({ action: "decline" })}>Decline</Button>
        <Button kind="quiet" onClick={() => answer({ action: "cancel" })}>
          Dismiss
        </Button>
      </div>
    </Form>
  );
}

function Control({
  field: { label, hint, kind, isRequired, isWhole, choices },
  value,
  onChange,
}: {
  field: FormField;
  value: string;
  onChange: (value: string) => void;
}) {
  const labels = { label: visible(label), hint: hint === undefined ? undefined : visible(hint) };
  const options = choices.map((choice) => [choice.value, visible(choice.name)] as const);
  switch (kind) {
    case "boolean":
      return (
        <Field {...labels}>
          {(id) => (
            <input
              id={id}
              type="checkbox"
              className="size-4 self-start"
              checked={value === "true"}
              onChange={({ target }) => onChange(String(target.checked))}
            />
          )}
        </Field>
      );
    case "choices":
      return (
        <Choices
          {...labels}
          required={isRequired}
          value={chosenIn(value)}
          options={options}
          onChange={(values) => onChange(JSON.stringify(values))}
        />
      );
    case "choice":
      return (
        <Choice
          {...labels}
          required={isRequired}
          value={value}
          options={[["", "–"], ...options]}
          onChange={onChange}
        />
      );
    default:
      return (
        <TextInput
          {...labels}
          type={kind}
          {...(kind === "number" && { step: isWhole ? 1 : "any" })}
          required={isRequired}
          value={value}
          onChange={onChange}
        />
      );
  }
}
