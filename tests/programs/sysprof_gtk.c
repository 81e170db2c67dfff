/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A window of GTK 4 that is drawn anew some times: sysprof_gtk FRAMES. */
#include <gtk/gtk.h>

static int frames;

static gboolean tick(GtkWidget *widget, GdkFrameClock *clock, void *window)
{
	(void)clock;
	gtk_widget_queue_draw(widget);
	if (--frames > 0)
		return G_SOURCE_CONTINUE;
	gtk_window_destroy(window);
	return G_SOURCE_REMOVE;
}

static void activate(GtkApplication *application)
{
	GtkWidget *window = gtk_application_window_new(application);
	GtkWidget *label = gtk_label_new("frames");

	gtk_window_set_child(GTK_WINDOW(window), label);
	gtk_widget_add_tick_callback(label, tick, window, NULL);
	gtk_window_present(GTK_WINDOW(window));
}

int main(int argc, char **argv)
{
	GtkApplication *application = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);
	int status;

	frames = argc > 1 ? atoi(argv[1]) : 10;
	g_signal_connect(application, "activate", G_CALLBACK(activate), NULL);
	status = g_application_run(G_APPLICATION(application), 1, argv);
	g_object_unref(application);
	return status;
}
