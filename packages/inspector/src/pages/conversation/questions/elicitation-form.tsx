import { type FormEvent, useState } from "react";
import type { Question } from "../../../acp/question.ts";
import { Button } from "../../../design/button.tsx";
import { Choice, Choices, Field, TextInput } from "../../../design/field.tsx";
import { visible } from "../../../design/visible.ts";
import { chosenIn, type FormField, formContent, formFields } from "./elicitation-fields.ts";

/** A form that an agent asks to have filled in, or a page that it asks to have opened. */
export function ElicitationForm({ question }: { question: Extract<Question, { kind: "elicitation" }> }) {
  const { message, schema, url, answer } = question;
  const form = url === undefined ? formFields(schema) : [];
  const fields = form ?? [];
  const [filled, setFilled] = useState<Readonly<Record<string, string>>>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    answer(
      url === undefined ? { action: "accept", content: formContent(fields, filled) } : { action: "accept" },
    );
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-2">
      <p className="font-medium break-words whitespace-pre-wrap">{visible(message)}</p>
      {url !== undefined && (
        <p className="text-sm">
          The agent wants you to open{" "}
          <a href={url} target="_blank" rel="noreferrer noopener" className="break-all text-accent underline">
            {visible(url)}
          </a>
          . Look at the address before you do.
        </p>
      )}
      {!form && (
        <p role="alert" className="text-sm text-warn">
          What it asks for cannot be filled in here. Another client of the session may be able to.
        </p>
      )}
      {fields.map((field) => (
        <Field
          key={field.name}
          label={visible(field.label)}
          {...(field.hint !== undefined && { hint: visible(field.hint) })}
        >
          {(id) => (
            <Control
              id={id}
              field={field}
              value={filled[field.name] ?? field.initial}
              onChange={(value) => setFilled({ ...filled, [field.name]: value })}
            />
          )}
        </Field>
      ))}
      <div className="flex gap-1.5">
        <Button kind="primary" type="submit" disabled={!form}>
          {url === undefined ? "Send" : "I have done that"}
        </Button>
        <Button onClick={() => answer({ action: "decline" })}>Decline</Button>
        <Button kind="quiet" onClick={() => answer({ action: "cancel" })}>
          Dismiss
        </Button>
      </div>
    </form>
  );
}

function Control({
  id,
  field: { kind, isRequired, isWhole, choices },
  value,
  onChange,
}: {
  id: string;
  field: FormField;
  value: string;
  onChange: (value: string) => void;
}) {
  if (kind === "boolean")
    return (
      <input
        id={id}
        type="checkbox"
        className="size-4 self-start"
        checked={value === "true"}
        onChange={({ target }) => onChange(String(target.checked))}
      />
    );
  if (kind === "choices")
    return (
      <Choices
        id={id}
        required={isRequired}
        value={chosenIn(value)}
        onChange={({ target }) =>
          onChange(JSON.stringify(Array.from(target.selectedOptions, (option) => option.value)))
        }
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {visible(choice.name)}
          </option>
        ))}
      </Choices>
    );
  if (kind === "choice")
    return (
      <Choice id={id} required={isRequired} value={value} onChange={({ target }) => onChange(target.value)}>
        <option value="">–</option>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {visible(choice.name)}
          </option>
        ))}
      </Choice>
    );
  return (
    <TextInput
      id={id}
      type={kind === "number" ? "number" : "text"}
      {...(kind === "number" && { step: isWhole ? 1 : "any" })}
      required={isRequired}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}
