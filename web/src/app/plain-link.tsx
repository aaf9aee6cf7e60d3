import type { ComponentType, ReactNode } from 'react'

interface PageLinkProps {
  to: string
  className?: string
  onClick?: () => void
  children: ReactNode
}

/** How what stands around a page leads on: by the router, or on the landing page by the browser. */
export type PageLink = ComponentType<PageLinkProps>

export function PlainLink({ to, children, ...rest }: PageLinkProps) {
  return (
    <a href={to} {...rest}>
      {children}
    </a>
  )
}
