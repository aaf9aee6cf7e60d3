import { useEffect, useRef, type ReactNode } from 'react'
import { useLocation } from 'react-router'
import { cn } from '@/lib/cn'
import { useDocumentTitle } from '@/lib/use-document-title'

/** Titles the document and, after a navigation inside the app, hands the focus to the page's heading. */
export function usePageTitle(title: string, takesFocus = false) {
  const heading = useRef<HTMLHeadingElement>(null)
  const { key, pathname } = useLocation()
  useDocumentTitle(title)
  useEffect(() => {
    // The first page of a visit has the key "default": there the browser's own start is right.
    if (takesFocus || key !== 'default') heading.current?.focus({ preventScroll: true })
    // A change of the query alone, such as a filter, is no navigation.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [pathname])
  return heading
}

interface PageHeadProps {
  title: string
  purpose?: ReactNode
  actions?: ReactNode
  /** Title of the document when it differs from the heading. */
  documentTitle?: string
  /** It stands in the place of what had the focus. */
  takesFocus?: boolean
  className?: string
}

export function PageHead({ title, purpose, actions, documentTitle, takesFocus, className }: PageHeadProps) {
  const heading = usePageTitle(documentTitle ?? title, takesFocus)
  return (
    <div className={cn('flex flex-wrap items-end justify-between gap-x-6 gap-y-4', className)}>
      <div className="min-w-0">
        <h1 ref={heading} tabIndex={-1} className="text-title-phone md:text-title">
          {title}
        </h1>
        {purpose ? <p className="mt-1 text-muted-foreground">{purpose}</p> : null}
      </div>
      {actions ? (
        <div className="flex grow flex-wrap items-center justify-end gap-3 md:grow-0">{actions}</div>
      ) : null}
    </div>
  )
}
