import type { ReactNode } from 'react'
import { PageHead } from '@/components/page-head'

/** One narrow column: a heading, a line, a form. */
export function AuthPage({
  icon,
  title,
  purpose,
  takesFocus,
  children,
}: {
  icon?: ReactNode
  title: string
  purpose?: ReactNode
  takesFocus?: boolean
  children: ReactNode
}) {
  return (
    <div className="page-gutter mx-auto max-w-[488px] pt-8 pb-4 md:pt-14">
      {icon ? <div className="mb-3">{icon}</div> : null}
      <PageHead title={title} purpose={purpose} takesFocus={takesFocus} />
      <div className="mt-6 flex flex-col gap-5">{children}</div>
    </div>
  )
}
