import { type ReactNode, useEffect, useState } from "react";

/** Saves a text of the page as a file. */
export function SaveLink({
  name,
  text,
  title,
  children,
}: {
  name: string;
  text: string;
  title?: string;
  children: ReactNode;
}) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text]));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return (
    <a href={address} download={name} title={title} className="text-sm text-accent hover:underline">
      {children}
    </a>
  );
}
