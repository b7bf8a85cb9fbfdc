import { Link } from "@tanstack/react-router";
import { Icon } from "../../../design/icons.tsx";

/** The line between what was said in a session and what was said in its fork. */
export function ForkLine({ session }: { session: string }) {
  return (
    <p className="flex items-center gap-3 py-3 text-2xs text-ink-soft before:h-px before:flex-1 before:bg-line-strong after:h-px after:flex-1 after:bg-line-strong">
      <span className="flex items-center gap-1.5">
        <Icon name="fork" size={13} />
        Forked here. The agent knows what was said above, in{" "}
        <Link to="/sessions/$id" params={{ id: session }} className="text-accent underline">
          the session it comes from
        </Link>
      </span>
    </p>
  );
}
