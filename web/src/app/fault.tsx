import { EmptyState } from '@/components/empty-state'
import { Button } from '@/components/ui/button'

/** In the place of a page that broke, or whose code did not arrive. */
export function Fault() {
  return (
    <div role="alert" className="page-gutter mx-auto max-w-xl py-16">
      <EmptyState
        drawing="lamp"
        title="This page could not be shown"
        text="Nothing was sent or changed. Reload the page; if it happens again, contact support."
        action={
          <Button variant="outline" onClick={() => location.reload()}>
            Reload
          </Button>
        }
      />
    </div>
  )
}
