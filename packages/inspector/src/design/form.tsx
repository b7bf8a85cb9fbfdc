import { Dialog as Radix } from "radix-ui";
import {
  type FormHTMLAttributes,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useEffect,
  useId,
} from "react";
import { classNames } from "./layout.tsx";

const LOOK =
  "w-full rounded border border-line-strong bg-surface px-2 text-sm text-ink placeholder:text-ink-faint disabled:opacity-60";

/** A form that is sent by the page itself. */
export function Form({
  onSubmit,
  ...rest
}: Omit<FormHTMLAttributes<HTMLFormElement>, "onSubmit"> & { onSubmit: () => unknown }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      {...rest}
    />
  );
}

/** A label above a control, and a hint below it. Without a label the control needs an `aria-label`. */
interface Labels {
  readonly label?: string | undefined;
  readonly hint?: ReactNode;
}

type Control<Attributes, Value = string> = Omit<Attributes, "onChange"> &
  Labels & { readonly onChange?: (value: Value) => void };

/** A labelled control with a hint. */
export function Field({ label, hint, children }: Labels & { children: (id: string) => ReactNode }) {
  const id = useId();
  if (label === undefined) return children(id);
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-2xs font-medium text-ink-soft">
        {label}
      </label>
      {children(id)}
      {hint !== undefined && <p className="text-2xs text-ink-faint">{hint}</p>}
    </div>
  );
}

export function TextInput({
  label,
  hint,
  className,
  onChange,
  ...rest
}: Control<InputHTMLAttributes<HTMLInputElement>>) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <input
          id={id}
          className={classNames(LOOK, "h-7", className)}
          onChange={({ target }) => onChange?.(target.value)}
          {...rest}
        />
      )}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  className,
  onChange,
  ...rest
}: Control<TextareaHTMLAttributes<HTMLTextAreaElement>> & { ref?: Ref<HTMLTextAreaElement> }) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <textarea
          id={id}
          className={classNames(LOOK, "py-1.5", className)}
          onChange={({ target }) => onChange?.(target.value)}
          {...rest}
        />
      )}
    </Field>
  );
}

/** An option of a select: its value, or value, name and whether it is disabled. */
export type ChoiceOption = string | readonly [value: string | number, name: string, isDisabled?: boolean];

function Options({ options }: { options: readonly ChoiceOption[] }) {
  return options.map((option) => {
    const [value, name, isDisabled] = typeof option === "string" ? [option, option] : option;
    return (
      <option key={value} value={value} disabled={isDisabled}>
        {name}
      </option>
    );
  });
}

/** A select of one option. */
export function Choice({
  label,
  hint,
  className,
  options,
  onChange,
  ...rest
}: Control<SelectHTMLAttributes<HTMLSelectElement>> & { options: readonly ChoiceOption[] }) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select
          id={id}
          className={classNames(LOOK, "h-7", className)}
          onChange={({ target }) => onChange?.(target.value)}
          {...rest}
        >
          <Options options={options} />
        </select>
      )}
    </Field>
  );
}

/** A select of any number of options. */
export function Choices({
  label,
  hint,
  options,
  onChange,
  ...rest
}: Control<SelectHTMLAttributes<HTMLSelectElement>, string[]> & { options: readonly ChoiceOption[] }) {
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <select
          multiple
          id={id}
          className={classNames(LOOK, "py-1")}
          onChange={({ target }) => onChange?.(Array.from(target.selectedOptions, ({ value }) => value))}
          {...rest}
        >
          <Options options={options} />
        </select>
      )}
    </Field>
  );
}

/**
 * A dialog. Not modal to Radix: its modal dialogs insert a stylesheet that the page's content security policy blocks.
 * The page behind is made inert here instead.
 */
export function Dialog({
  open,
  onClose,
  title,
  about,
  children,
}: {
  open: boolean;
  onClose: () => void;
  title: string;
  about?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    const page = document.getElementById("root");
    if (!open || !page) return;
    page.inert = true;
    return () => {
      page.inert = false;
    };
  }, [open]);
  return (
    <Radix.Root open={open} modal={false} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <div className="fixed inset-0 z-40 bg-ink/30" aria-hidden="true" onClick={onClose} />
        <Radix.Content
          aria-modal="true"
          className="fixed inset-x-2 top-[10vh] z-50 mx-auto flex max-h-[80vh] max-w-xl flex-col gap-3 overflow-auto rounded-lg border border-line bg-raised p-4 shadow-float"
          onInteractOutside={(event) => event.preventDefault()}
        >
          <div>
            <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
            <Radix.Description className="text-sm text-ink-soft">{about}</Radix.Description>
          </div>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
