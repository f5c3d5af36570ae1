export function Mark() {
  return (
    <span className="flex items-center gap-2.5 text-lead font-semibold tracking-wide">
      <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true" className="text-accent">
        <path
          d="M13.5 2H4a2 2 0 0 0-2 2v8a2 2 0 0 0 2 2h9.5"
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          strokeLinecap="square"
        />
      </svg>
      ADE
    </span>
  );
}
