import { useState } from "react";
import { z } from "zod";
import type { Option, Question } from "../../acp/connection.ts";
import { usePendingApprovals } from "../../app/approvals.ts";
import { Button, type ButtonKind } from "../../design/button.tsx";
import { Choice, Choices, Field, Form, TextInput } from "../../design/form.tsx";
import { visible, visibleLine } from "../../design/format.ts";
import { AnswerBar } from "../approvals/answer-bar.tsx";
import { ApprovalFacts, ApprovalWhat, ExactCallView } from "../approvals/approval-detail.tsx";

/** A field of an elicitation form. */
interface FormField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly kind: "text" | "number" | "boolean" | "choice" | "choices";
  readonly isWhole: boolean;
  readonly isRequired: boolean;
  readonly choices: readonly { readonly value: string; readonly name: string }[];
  /** The initial value; for multiple choices a JSON array. */
  readonly initial: string;
}

const text = z.string().nullish();
const texts = z.array(z.string());
const Titled = z.array(z.looseObject({ const: z.string(), title: text })).nullish();
const Property = z.looseObject({
  type: z.string().default("string"),
  title: text,
  description: text,
  default: z.union([z.string(), z.number(), z.boolean(), texts]).nullish(),
  enum: texts.nullish(),
  enumNames: texts.nullish(),
  oneOf: Titled,
  items: z.looseObject({ enum: texts.nullish(), anyOf: Titled }).nullish(),
});
const Schema = z.looseObject({
  properties: z.record(z.string(), Property).default({}),
  required: texts.nullish(),
});

/** The fields of a form in order; `undefined` if the form cannot be shown. */
export function formFields(schema: unknown): readonly FormField[] | undefined {
  const read = Schema.safeParse(schema ?? {});
  if (!read.success) return undefined;
  const { properties, required } = read.data;
  return Object.entries(properties).map(([name, property]) => {
    const choices = choicesOf(property);
    return {
      name,
      label: property.title ?? name,
      hint: property.description ?? undefined,
      kind: kindOf(property.type, choices.length > 0),
      isWhole: property.type === "integer",
      isRequired: required?.includes(name) ?? false,
      choices,
      initial: textOf(property.default),
    };
  });
}

/** Parses the choices of a field. */
function chosenIn(value: string): readonly string[] {
  return value === "" ? [] : texts.parse(JSON.parse(value));
}

/** The form's content as its schema wants it; empty fields are left out. */
export function formContent(
  fields: readonly FormField[],
  filled: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind, initial }): (readonly [string, unknown])[] => {
      const value = filled[name] ?? initial;
      if (kind === "boolean") return [[name, value === "true"]];
      if (value === "") return [];
      if (kind === "choices") return [[name, chosenIn(value)]];
      return [[name, kind === "number" ? Number(value) : value]];
    }),
  );
}

function kindOf(type: string, hasChoices: boolean): FormField["kind"] {
  if (hasChoices) return type === "array" ? "choices" : "choice";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "text";
}

function choicesOf(property: z.infer<typeof Property>): FormField["choices"] {
  const { enumNames, items } = property;
  const titled = property.oneOf ?? items?.anyOf;
  if (titled) return titled.map(({ const: value, title }) => ({ value, name: title ?? value }));
  const values = property.enum ?? items?.enum ?? [];
  return values.map((value, index) => ({ value, name: enumNames?.[index] ?? value }));
}

function textOf(value: z.infer<typeof Property>["default"]): string {
  if (value === undefined || value === null) return "";
  return Array.isArray(value) ? JSON.stringify(value) : String(value);
}

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
