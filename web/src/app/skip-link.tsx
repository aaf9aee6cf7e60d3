export function SkipLink() {
  return (
    <a
      href="#content"
      className="absolute top-2 left-2 z-60 -translate-y-24 rounded-control bg-primary px-4 py-2.5 font-semibold text-primary-foreground focus:translate-y-0"
    >
      Skip to content
    </a>
  )
}
