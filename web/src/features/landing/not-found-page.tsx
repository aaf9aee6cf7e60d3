import { EmptyState } from '@/components/empty-state'
import { usePageTitle } from '@/components/page-head'
import { Button } from '@/components/ui/button'
import { paths } from '@/lib/paths'

export function NotFoundPage() {
  const heading = usePageTitle('Page not found')
  return (
    <div className="page-gutter mx-auto flex max-w-xl flex-col items-center py-16 text-center">
      <h1 ref={heading} tabIndex={-1} className="text-title-phone md:text-title">
        Oops! Page not found
      </h1>
      <EmptyState
        drawing="mooring"
        title="There is no page at this address"
        text="It may be mistyped, or the page has moved."
        action={
          <Button asChild variant="outline">
            <a href={paths.home}>Return to Home</a>
          </Button>
        }
      />
    </div>
  )
}
