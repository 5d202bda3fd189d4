public class Demo {
    public static void main(String[] words) {
        System.out.println("says A");
    }
}
