import fr.limsi.wapiti.SWIGTYPE_p_mdl_t;
import fr.limsi.wapiti.Wapiti;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Labels a file with the calls that GROBID makes of Wapiti: MODEL FILE [THREADS]. The text is printed once. */
public final class GrobidCalls {
    public static void main(String[] arguments) throws Exception {
        String text = Files.readString(Path.of(arguments[1]));
        int threads = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 1;
        SWIGTYPE_p_mdl_t model = Wapiti.loadModel("label " + "" + " -m " + Path.of(arguments[0]).toAbsolutePath());
        List<Future<String>> answers = new ArrayList<>();
        try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
            for (int k = 0; k < threads; k++) {
                answers.add(pool.submit(() -> Wapiti.labelFromModel(model, text)));
            }
        }
        String first = answers.get(0).get();
        for (Future<String> answer : answers) {
            if (!answer.get().equals(first)) {
                throw new AssertionError("threads disagree");
            }
        }
        Wapiti.freeModel(model);
        new PrintStream(System.out, true, StandardCharsets.UTF_8).print(first);
    }
}
