import type { ReactNode } from 'react'

/** One part of a settings page, under its own heading. */
export function SettingsSection({ id, title, children }: { id: string; title: string; children: ReactNode }) {
  return (
    <section
      id={id}
      aria-labelledby={`${id}-title`}
      className="flex scroll-mt-24 flex-col gap-4 border-t pt-6 first:border-t-0 first:pt-0"
    >
      <h2 id={`${id}-title`} className="text-section">
        {title}
      </h2>
      {children}
    </section>
  )
}
