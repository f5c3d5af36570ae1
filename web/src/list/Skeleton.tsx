/** Placeholder rows with the final height, so that nothing moves when the data arrives. */
export function Skeleton() {
  return (
    <div aria-busy="true" aria-label="Loading" role="status" className="flex-1 overflow-hidden">
      {Array.from({ length: 12 }, (_, index) => (
        <div
          key={index}
          className="flex h-[52px] items-center gap-8 border-b border-line px-5 max-md:h-[84px]"
        >
          <span className="waiting h-3 w-24" />
          <span className="flex-1">
            <span className="waiting block h-3 w-3/5" />
            <span className="waiting mt-2 block h-2.5 w-2/5" />
          </span>
          <span className="waiting h-5 w-12 max-md:hidden" />
        </div>
      ))}
    </div>
  );
}
